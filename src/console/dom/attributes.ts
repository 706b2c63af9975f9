import type { Props } from './vnode.ts';

/** Written after the children, because a `select` needs its options, and compared with what somebody typed meanwhile. */
const LIVE = ['value', 'checked'];
const NO_ATTRIBUTES = ['children', 'key', 'ref'];
/** Properties that cannot be written, or mean something else than the attribute. */
const ATTRIBUTES = /^(?:width|height|href|list|form|tabIndex|download|rowSpan|colSpan|role)$/;

/** Brings attributes, styles and event handlers of an element from `before` to `after`. */
export function setAttributes(element: Element, before: Props, after: Props): void {
  for (const name of Object.keys({ ...before, ...after })) {
    if (NO_ATTRIBUTES.includes(name) || LIVE.includes(name)) continue;
    if (before[name] !== after[name]) setAttribute(element, name, before[name], after[name]);
  }
}

export function setLiveProperties(element: Element, props: Props): void {
  for (const name of LIVE) {
    const value = props[name];
    if (value !== undefined && Reflect.get(element, name) !== value) setAttribute(element, name, undefined, value);
  }
}

function setAttribute(element: Element, name: string, before: unknown, value: unknown): void {
  if (name.startsWith('on')) {
    const event = name.slice(2).toLowerCase();
    if (typeof before === 'function') element.removeEventListener(event, before as EventListener);
    if (typeof value === 'function') element.addEventListener(event, value as EventListener);
  } else if (name === 'style') {
    const { style } = element as HTMLElement;
    // Through CSSOM: the policy of the page forbids attributes.
    for (const property of Object.keys({ ...(before as object), ...(value as object) })) {
      Reflect.set(style, property, (value as Props | undefined)?.[property] ?? '');
    }
  } else if (name in element && !ATTRIBUTES.test(name) && !(element instanceof SVGElement)) {
    Reflect.set(element, name, value ?? '');
  } else if (value === undefined || value === null || (value === false && name[4] !== '-')) {
    element.removeAttribute(name);
  } else {
    element.setAttribute(name, String(value));
  }
}
