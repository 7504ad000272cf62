type Heard = (value: never) => void;

/** What an EventEmitter does, as far as streams need it: calls those that listen, in their order. */
export class Listeners {
  private readonly byEvent = new Map<string, Heard[]>();

  on(event: string, heard: Heard): void {
    const list = this.byEvent.get(event);
    if (list === undefined) this.byEvent.set(event, [heard]);
    else list.push(heard);
  }

  once(event: string, heard: Heard): void {
    let isDone = false;
    this.on(event, ((value: never) => {
      if (isDone) return;
      isDone = true;
      heard(value);
    }) as Heard);
  }

  emit(event: string, value?: unknown): void {
    for (const heard of this.byEvent.get(event) ?? []) heard(value as never);
  }
}
