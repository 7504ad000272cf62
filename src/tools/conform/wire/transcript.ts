import { plain } from '../plain.js';

/** One request and what came back, for people. */
export interface Exchange {
  readonly sent: string;
  readonly got: string;
}

const MOST_EXCHANGES = 6;

/** The last exchanges of a case. Servers are not trusted: their bytes become plain lines here. */
export class Transcript {
  private readonly last: Exchange[] = [];

  add(sent: string, got: string): void {
    this.last.push({ sent: plain(sent), got: plain(got) });
    if (this.last.length > MOST_EXCHANGES) this.last.shift();
  }

  get exchanges(): readonly Exchange[] {
    return [...this.last];
  }
}
