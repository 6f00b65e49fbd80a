// A picture opens in full size when it is clicked, or chosen and entered; Escape or a click closes it.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  for (const image of document.querySelectorAll("article.bd-article img")) {
    if (image.closest("a")) continue;
    image.tabIndex = 0;
    image.setAttribute("role", "button");
    image.title = "Enlarge";
    const open = () => {
      const dialog = document.createElement("dialog");
      dialog.className = "enlarged";
      dialog.tabIndex = -1; // keys go to what has the focus
      const copy = new Image();
      copy.src = image.src;
      copy.alt = image.alt;
      dialog.append(copy);
      dialog.addEventListener("click", () => dialog.close());
      dialog.addEventListener("keydown", (event) => {
        if (event.key === "Escape") dialog.close(); // the theme takes the browser's own way out
      });
      dialog.addEventListener("close", () => dialog.remove());
      document.body.append(dialog);
      dialog.showModal();
      dialog.focus();
    };
    image.addEventListener("click", open);
    image.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        open();
      }
    });
  }
});
