import { Content } from 'vitepress';
import DefaultTheme, { VPHomeFeatures, VPHomeHero } from 'vitepress/theme';
import { h } from 'vue';
import './contrast.css';
import './front.css';

/** VitePress's home page, with the text and the picture of index.md, in a landmark. */
const Front = () => h('main', [h(VPHomeHero), h(Content, { class: 'front vp-doc' }), h(VPHomeFeatures)]);

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => app.component('Front', Front),
};
