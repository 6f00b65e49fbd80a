"""Identities between matrices and between expectations: words in general, entries one by one."""
