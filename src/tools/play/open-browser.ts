import { spawn } from 'node:child_process';

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};
const ELSEWHERE = ['xdg-open'];

/** Opens an address in the browser of the desktop, if there is one; nothing fails where there is none. */
export function openBrowser(url: string): void {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env;
  const [program, ...args] = OPENERS[process.platform] ?? ELSEWHERE;
  if (program === 'xdg-open' && DISPLAY === undefined && WAYLAND_DISPLAY === undefined) return;
  const child = spawn(program!, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
