// What copies the calls that pages show: a button in each box.
/** Where the page is not served safely there is no clipboard, and the old way still works. */
async function copy(code) {
  const text = code.textContent;
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  getSelection().selectAllChildren(code);
  document.execCommand("copy");
  getSelection().removeAllRanges();
}

function addCopyButtons(within) {
  for (const box of within.querySelectorAll(".call")) {
    const button = document.createElement("button");
    button.className = "copy plain small";
    button.type = "button";
    button.textContent = "Copy";
    box.append(button);
  }
}

async function onCopy(button) {
  try {
    await copy(button.parentElement.querySelector("code"));
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy";
  }
  setTimeout(() => {
    button.textContent = "Copy";
  }, 2000);
}

addCopyButtons(document);
document.addEventListener("click", ({ target }) => {
  if (target.matches(".copy")) onCopy(target);
});
