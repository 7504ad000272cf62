import type { Redis } from 'ioredis';
import { type Card, cardsOf } from './messages.js';
import { KEPT_S, KEYS, kindText, queueName } from './names.js';

const SILENT_MS = 10_000;
/** Lifetime of a card after its last renewal, which is much more frequent. */
const CARD_MS = 20_000;
/** Limit on the number of peers that are read. */
const MOST_PEERS = 10_000;

interface PresenceOptions {
  readonly client: Redis;
  /** Directory of this side, and of the other. */
  readonly own: string;
  readonly other: string;
  readonly card: Card;
  /** Noun for the other side: `worker` or `sweep`. */
  readonly noun: string;
  readonly say: (what: string) => void;
}

/** Announces this process to the other side, and keeps track of its peers there. */
export class Presence {
  /** Peers that this process can work with. */
  peers: readonly Card[] = [];
  private readonly strangers = new Set<string>();
  private isSilent = false;

  constructor(private readonly options: PresenceOptions) {}

  /** Call repeatedly, much more often than cards expire. */
  async renew(): Promise<void> {
    const timer = setTimeout(() => this.noteSilence(), SILENT_MS);
    try {
      const cards = await this.exchange();
      this.isSilent = false;
      const mine = queueName(this.options.card);
      this.peers = cards.filter((one) => queueName(one) === mine);
      for (const one of cards) if (queueName(one) !== mine) this.noteStranger(one);
    } finally {
      clearTimeout(timer);
    }
  }

  async leave(): Promise<void> {
    const { client, own, card } = this.options;
    await Promise.all([client.del(KEYS.card(own, card.id)), client.srem(own, card.id)]);
  }

  /** Renews its own card, and reads those of the other side. */
  private async exchange(): Promise<Card[]> {
    const { client, own, other, card } = this.options;
    const [ids] = await Promise.all([
      client.srandmember(other, MOST_PEERS),
      client.set(KEYS.card(own, card.id), JSON.stringify(card), 'PX', CARD_MS),
      client.sadd(own, card.id),
      client.expire(own, KEPT_S),
    ]);
    if (ids.length === 0) return [];
    const texts = await client.mget(ids.map((id) => KEYS.card(other, id)));
    const gone = ids.filter((_, i) => texts[i] === null);
    if (gone.length > 0) await client.srem(other, ...gone);
    return cardsOf(texts.flatMap((text) => text ?? []));
  }

  private noteSilence(): void {
    if (!this.isSilent)
      this.options.say(`the queue has not answered for ${SILENT_MS / 1000} s; waiting for it`);
    this.isSilent = true;
  }

  private noteStranger(stranger: Card): void {
    const { card, noun, say } = this.options;
    if (this.strangers.has(stranger.id)) return;
    this.strangers.add(stranger.id);
    say(
      `the ${noun} ${stranger.name} is left out: it is ${kindText(stranger)}, and this is ${kindText(card)}, so results could differ`,
    );
  }
}
