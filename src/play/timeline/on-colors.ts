/**
 * Calls `redraw` whenever what is drawn may need other colors: the system turns dark or light, or the page does by a class of
 * its root. Returns what ends that.
 */
export function onColors(redraw: () => void): () => void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const root = new MutationObserver(redraw);
  dark.addEventListener('change', redraw);
  root.observe(document.documentElement, { attributeFilter: ['class'] });
  return () => {
    dark.removeEventListener('change', redraw);
    root.disconnect();
  };
}
