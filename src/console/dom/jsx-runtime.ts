import type { Props, Type, VNode } from './vnode.ts';

export { Fragment } from './vnode.ts';

/** What JSX is compiled to. */
export function jsx(type: Type, props: Props, key?: string): VNode {
  return { type, props, key };
}

export { jsx as jsxs };
