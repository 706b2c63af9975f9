import DefaultTheme, { VPHomeFeatures, VPHomeHero } from 'vitepress/theme';
import { h } from 'vue';
import './contrast.css';

/** VitePress's home page, in a landmark. */
const Front = () => h('main', [h(VPHomeHero), h(VPHomeFeatures)]);

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => app.component('Front', Front),
};
