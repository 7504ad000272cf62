import type { WorkerState } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { FleetModels } from './fleet-models.js';
import type { Member } from './member.js';

interface TakingOnEvents {
  /** It has the right models: it may be sent actions. */
  ready(member: Member, state: WorkerState): void;
  /** It cannot have them; it is asked again and again. */
  failed(member: Member, reason: string): void;
  /** It has this model from an earlier controller. Returns true if it stays. */
  modelFound(index: number, model: ServedModel): boolean;
}

/** Accepts workers that have come up, after aligning their models with the cluster's. */
export class TakingOn {
  constructor(
    private readonly models: FleetModels,
    private readonly events: TakingOnEvents,
  ) {}

  begin(member: Member, state: WorkerState): void {
    const life = ++member.life;
    member.isAligning = false;
    const { link, kind } = member;
    const adopted = this.models.adopt({ link, kind }, state.changes ?? [], (index, model) =>
      this.events.modelFound(index, model),
    );
    if (adopted === null) {
      this.align(member, state, life);
      return;
    }
    member.state = null;
    member.isAligning = true;
    void adopted.then(() => {
      if (life === member.life) this.align(member, state, life);
    });
  }

  private align(member: Member, state: WorkerState, life: number): void {
    const { models, events } = this;
    member.isAligning = false;
    const aligned = models.align(member.link, member.description, state, {
      isWanted: () => life === member.life,
      failed: (reason) => events.failed(member, reason),
    });
    if (aligned === null) {
      member.state = state;
      events.ready(member, state);
      return;
    }
    // Nothing is sent before.
    member.state = null;
    member.isAligning = true;
    void aligned.then((now) => {
      if (now === null) return;
      member.isAligning = false;
      member.state = now;
      events.ready(member, now);
    });
  }
}
