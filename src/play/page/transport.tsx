import { useEffect } from 'preact/hooks';
import { formatMs } from '../../text/numbers.js';
import type { Session, View } from './session.js';

/** Virtual seconds per wall second. */
const SPEEDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5];
const NS_PER_MS = 1e6;

interface TransportProps {
  readonly session: Session;
  readonly view: View;
}

/** Playback controls: buttons and keys. */
export function Transport({ session, view }: TransportProps) {
  const isPlaying = view.frame?.isPlaying ?? false;
  const actions: Readonly<Record<string, () => void>> = {
    k: () => (isPlaying ? session.send({ type: 'pause' }) : session.play()),
    '.': () => session.send({ type: 'stepEvent' }),
    n: () => session.send({ type: 'jumpToNextLate' }),
    e: () => session.send({ type: 'runToEnd' }),
    r: () => session.open(view.setup),
  };
  useKeys(actions);
  return (
    <fieldset class="row transport" aria-label="Time">
      <button type="button" class="primary" aria-keyshortcuts="k" onClick={actions.k}>
        {isPlaying ? 'Pause' : 'Play'}
      </button>
      <button type="button" aria-keyshortcuts="." onClick={actions['.']}>
        Step one event
      </button>
      <button type="button" aria-keyshortcuts="n" onClick={actions.n}>
        Next late request
      </button>
      <button type="button" aria-keyshortcuts="e" onClick={actions.e}>
        To the end
      </button>
      <button type="button" aria-keyshortcuts="r" onClick={actions.r}>
        Restart
      </button>
      <label>
        Speed{' '}
        <select
          value={view.speed}
          onChange={({ currentTarget }) => session.play(Number(currentTarget.value))}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={speed}>
              {speed < 1 ? `${speed * 1000} ms/s` : `${speed} s/s`}
            </option>
          ))}
        </select>
      </label>
      <output aria-label="Virtual time">{formatMs((view.frame?.nowNs ?? 0) / NS_PER_MS)}</output>
    </fieldset>
  );
}

/** Letters work unless text is being typed or another control takes them. */
function useKeys(actions: Readonly<Record<string, () => void>>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTaken =
        event.target instanceof Element && event.target.closest('input, select, textarea, canvas');
      if (isTaken || event.ctrlKey || event.metaKey || event.altKey) return;
      actions[event.key]?.();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  });
}
