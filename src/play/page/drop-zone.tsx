import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { openFiles } from './open-files.js';
import type { Session } from './session.js';

interface DropZoneProps {
  readonly session: Session;
  readonly children: ComponentChildren;
}

/** Accepts files dropped on the page: experiments, and the traces, profiles and lists of models that they name. */
export function DropZone({ session, children }: DropZoneProps) {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const over = (event: DragEvent) => {
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      event.preventDefault();
      setOver(false);
      void openFiles(session, [...(event.dataTransfer?.files ?? [])]);
    };
    window.addEventListener('dragover', over);
    window.addEventListener('dragleave', leave);
    window.addEventListener('drop', drop);
    return () => {
      window.removeEventListener('dragover', over);
      window.removeEventListener('dragleave', leave);
      window.removeEventListener('drop', drop);
    };
  }, [session]);
  return <div class={isOver ? 'page over' : 'page'}>{children}</div>;
}
