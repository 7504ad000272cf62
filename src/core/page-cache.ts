import { invariant } from './invariant.js';

/**
 * The weights cache of one GPU, counted in pages. Weights need not be contiguous (Clockwork, OSDI 2020,
 * §5.1), so there is no fragmentation and a count is all there is to know. Controller and worker
 * each keep one: what should be there, and what is.
 */
export class PageCache {
  private freePages: number;
  private readonly held: Int32Array;

  constructor(
    readonly capacity: number,
    models: number,
  ) {
    this.freePages = capacity;
    this.held = new Int32Array(models);
  }

  get free(): number {
    return this.freePages;
  }

  /** Pages that the model takes here; 0 if it is absent. */
  pagesOf(model: number): number {
    return this.held[model];
  }

  take(model: number, pages: number): void {
    invariant(this.held[model] === 0, 'a model takes pages once');
    invariant(pages <= this.freePages, 'pages are free when they are taken');
    this.held[model] = pages;
    this.freePages -= pages;
  }

  /** Gives a model's pages back; nothing happens if it has none. */
  release(model: number): void {
    this.freePages += this.held[model];
    this.held[model] = 0;
  }
}
