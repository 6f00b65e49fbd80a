"""Forecasts from inside a training loop of one's own: :func:`swingby.watch`.

Rooms: the components of the data (``components``), reading the model and the optimizer
(``observer``, ``update_rule``, ``grades``), the two ways to forecast (``chain_law``,
``coarse_copy``), what is forecast and what came (``mode_forecast``), the hook (``watcher``) and
what is shown of it (``watch_report``, ``watch_picture``).
"""
