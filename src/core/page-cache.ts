import { invariant } from '../base/invariant.js';

/**
 * Weights cache of one GPU, counted in pages. Weights need not be contiguous (Clockwork, OSDI 2020, §5.1), so there is
 * no fragmentation and a count suffices; the models held are tracked elsewhere. Controller and worker each keep one:
 * the expected and the actual number of free pages.
 */
export class PageCache {
  private freePages: number;

  constructor(readonly capacity: number) {
    this.freePages = capacity;
  }

  get free(): number {
    return this.freePages;
  }

  take(pages: number): void {
    invariant(pages <= this.freePages, 'pages are free when they are taken');
    this.freePages -= pages;
  }

  release(pages: number): void {
    this.freePages += pages;
    invariant(this.freePages <= this.capacity, 'no more pages are given back than were taken');
  }
}
