import { onContentUpdated, type Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import './style.css';
import './play-idea.css';

export default {
  extends: DefaultTheme,
  setup() {
    // Only pages with small playgrounds load what runs them.
    onContentUpdated(() => {
      if (document.querySelector('play-idea') !== null)
        void import('../../../src/play/page/ideas/element.js');
    });
  },
} satisfies Theme;
