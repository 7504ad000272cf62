import { render } from 'preact';
import { IdeaBox } from './idea-box.jsx';
import { IDEAS } from './ideas.js';

/**
 * `<play-idea idea="windows">`: a small playground in a page of the documentation, below the element's own content,
 * which is all that code hosts and readers without scripts see. Its engine starts when it scrolls into view, and ends
 * when the page is left.
 */
class PlayIdea extends HTMLElement {
  private readonly box = document.createElement('div');
  private readonly watcher = new IntersectionObserver((entries) => {
    if (entries.some(({ isIntersecting }) => isIntersecting)) this.start();
  });

  connectedCallback(): void {
    this.box.className = 'idea';
    this.append(this.box);
    this.watcher.observe(this);
  }

  disconnectedCallback(): void {
    this.watcher.disconnect();
    render(null, this.box);
  }

  private start(): void {
    this.watcher.disconnect();
    const idea = IDEAS[this.getAttribute('idea') ?? ''];
    if (idea !== undefined) render(<IdeaBox idea={idea} startEngine={startEngine} />, this.box);
  }
}

/** Starts the worker, which the build of the site puts into a file of its own. */
function startEngine(): Worker {
  return new Worker(new URL('../../engine/worker.ts', import.meta.url), { type: 'module' });
}

customElements.define('play-idea', PlayIdea);
