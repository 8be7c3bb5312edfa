// What pages do beyond links and forms: copying, times of this place on hover, and parts that the gateway tells anew. Without it all pages work.
async function copied(code) {
  const text = code.textContent;
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  getSelection().selectAllChildren(code);
  document.execCommand("copy");
  getSelection().removeAllRanges();
}

function addCopyButtons() {
  for (const box of document.querySelectorAll(".call")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    box.append(button);
  }
}

async function onCopy(button) {
  try {
    await copied(button.parentElement.querySelector("code"));
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy";
  }
  setTimeout(() => {
    button.textContent = "Copy";
  }, 2000);
}

function tellLocalTimes(within) {
  for (const time of within.querySelectorAll("time[datetime]")) time.title = new Date(time.dateTime).toLocaleString();
}

/** A part that the gateway tells anew while the page is open; the browser asks again by itself after a restart. */
function follow(part) {
  const source = new EventSource(part.dataset.live);
  source.onmessage = ({ data }) => {
    part.innerHTML = data;
    part.dataset.told = String(Number(part.dataset.told ?? 0) + 1);
    tellLocalTimes(part);
  };
  // The session is over: the page of the sign-in says so.
  source.addEventListener("over", () => location.reload());
}

addCopyButtons();
tellLocalTimes(document);
for (const part of document.querySelectorAll("[data-live]")) follow(part);
document.addEventListener("click", ({ target }) => {
  if (target.className === "copy") onCopy(target);
});
// A page of before the sign-out must not come back from memory.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload();
});
