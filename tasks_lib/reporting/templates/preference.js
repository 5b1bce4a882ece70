"use strict";
// Keys press the buttons that name them. A key that is held down, or pressed together with others, does not.
let sent = false;
document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  const button = [...document.querySelectorAll("button[data-key]")].find((one) => one.dataset.key === event.key);
  // Enter on a button that has the focus presses that one.
  if (!button || button.disabled || (event.key === "Enter" && event.target.tagName === "BUTTON")) return;
  event.preventDefault();
  button.click();
});
// One page sends one answer.
document.addEventListener("submit", (event) => {
  if (sent) event.preventDefault();
  sent = true;
});
// A page that the browser kept may be shown again by its button "back".
window.addEventListener("pageshow", () => { sent = false; });
