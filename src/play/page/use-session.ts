import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Setup } from '../share/address.js';
import { Session, type View } from './session.js';

/** A session that starts with a setup and ends with the component, and its current view. */
export function useSession(startEngine: () => Worker, setup: Setup, problem = ''): readonly [View, Session] {
  const [, setTick] = useState(0);
  const session = useMemo(
    () => new Session(startEngine, setup, () => setTick((tick) => tick + 1)),
    [startEngine, setup],
  );
  const isOpen = useRef(false);
  useEffect(() => {
    if (isOpen.current) return;
    isOpen.current = true;
    session.open(setup);
    if (problem !== '') session.fail(problem);
  }, [session, setup, problem]);
  useEffect(() => () => session.close(), [session]);
  return [session.view, session];
}
