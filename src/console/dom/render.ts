import { setAttributes, setLiveProperties } from './attributes.ts';
import { Fragment, type Props, type VNode } from './vnode.ts';

/** What is there: one for each element, text, component and place without anything. */
export interface Instance {
  vnode: VNode;
  readonly parent: Instance | undefined;
  /** Of an element or a text. */
  dom?: Element | Text;
  kids: Instance[];
  /** Of a component, in the order of their calls. */
  readonly hooks: Hook[];
  readonly depth: number;
  gone?: boolean;
}

export interface Hook {
  value?: unknown;
  inputs?: readonly unknown[] | undefined;
  cleanup?: (() => void) | undefined;
}

/** The component that is being called, and how many of its hooks were. */
export const calling: { instance?: Instance; hook: number } = { hook: 0 };

/** Effects of what is being drawn: those of layout, and the others. */
export const effects: [(() => void)[], (() => void)[]] = [[], []];

const SVG = 'http://www.w3.org/2000/svg';
const waiting = new Set<Instance>();
let scheduled = false;

/** Draws into an empty element. */
export function render(vnode: unknown, into: Element): void {
  const root: Instance = {
    vnode: { type: 'root', props: {} },
    parent: undefined,
    dom: into,
    kids: [],
    hooks: [],
    depth: 0,
  };
  drawKids(root, [vnode]);
  place(root, into, null);
  runEffects();
}

/** Draws a component again, soon and once. */
export function redraw(instance: Instance): void {
  waiting.add(instance);
  if (!scheduled) queueMicrotask(drawWaiting);
  scheduled = true;
}

function drawWaiting(): void {
  scheduled = false;
  // Those above draw those below as well.
  for (const instance of [...waiting].sort((a, b) => a.depth - b.depth)) {
    if (!waiting.delete(instance) || instance.gone) continue;
    const host = hostOf(instance);
    const next = nextDom(instance);
    draw(instance, instance.vnode);
    place(instance, host, next);
  }
  runEffects();
}

function runEffects(): void {
  for (const queue of effects) for (const effect of queue.splice(0)) effect();
}

/** In the place of a component that throws: the rest of the page goes on. */
const FAILED: VNode = {
  type: 'p',
  props: { class: 'notice error', role: 'alert', children: 'This part of the page failed. Reload the page.' },
};

/** Brings an instance to what is wanted. */
function draw(instance: Instance, vnode: VNode): void {
  const { props: before } = instance.vnode;
  const { type, props } = vnode;
  instance.vnode = vnode;
  waiting.delete(instance);
  if (typeof type === 'function') {
    const outer = { ...calling };
    Object.assign(calling, { instance, hook: 0 });
    let drawn: unknown;
    try {
      drawn = type(props);
    } catch (error) {
      console.error(error);
      drawn = FAILED;
    }
    Object.assign(calling, outer);
    drawKids(instance, listOf(drawn));
    return;
  }
  const { dom } = instance;
  if (dom instanceof Text) {
    if (dom.data !== props.text) dom.data = String(props.text);
  } else if (dom !== undefined) {
    setAttributes(dom, before, props);
    drawKids(instance, listOf(props.children));
    place(instance, dom, null);
    setLiveProperties(dom, props);
    setRef(props.ref, dom);
  }
}

function listOf(children: unknown): readonly unknown[] {
  return Array.isArray(children) ? children : [children];
}

function drawKids(instance: Instance, wanted: readonly unknown[]): void {
  const before = new Map<unknown, Instance>();
  const over = instance.kids.filter((kid, at) => {
    const key = kid.vnode.key ?? at;
    if (before.has(key)) return true;
    before.set(key, kid);
    return false;
  });
  instance.kids = wanted.map((child, at) => {
    const vnode = vnodeOf(child);
    const key = vnode.key ?? at;
    const known = before.get(key);
    if (known === undefined || known.vnode.type !== vnode.type) return make(instance, vnode);
    before.delete(key);
    // What is the same object cannot have changed.
    if (known.vnode !== vnode) draw(known, vnode);
    return known;
  });
  for (const kid of [...over, ...before.values()]) remove(kid, true);
}

function vnodeOf(child: unknown): VNode {
  if (Array.isArray(child)) return { type: Fragment, props: { children: child } };
  if (child === null || child === undefined || typeof child === 'boolean') return { type: Fragment, props: NOTHING };
  return typeof child === 'object' ? (child as VNode) : { type: '', props: { text: String(child) } };
}

const NOTHING: Props = { children: [] };

function make(parent: Instance, vnode: VNode): Instance {
  const { type } = vnode;
  const instance: Instance = {
    vnode: { ...vnode, props: {} },
    parent,
    kids: [],
    hooks: [],
    depth: parent.depth + 1,
  };
  if (type === '') instance.dom = new Text();
  else if (typeof type === 'string') {
    const inSvg = type === 'svg' || hostOf(instance) instanceof SVGElement;
    instance.dom = inSvg ? document.createElementNS(SVG, type) : document.createElement(type);
  }
  draw(instance, vnode);
  return instance;
}

/** Puts what an instance has drawn before `next`. What is in its place already is not moved, so it keeps focus and scrolling. */
function place(instance: Instance, host: Element, next: Node | null): Node | null {
  if (instance.dom !== undefined && instance.dom !== host) {
    const { dom } = instance;
    if (dom.parentNode !== host || dom.nextSibling !== next) move(dom, host, next);
    return dom;
  }
  return instance.kids.reduceRight((following, kid) => place(kid, host, following), next);
}

/** An element that is moved loses the focus. */
function move(dom: Node, host: Element, next: Node | null): void {
  const { activeElement } = document;
  const focused = activeElement instanceof HTMLElement && dom.contains(activeElement);
  host.insertBefore(dom, next);
  if (focused) activeElement.focus({ preventScroll: true });
}

function remove(instance: Instance, outermost: boolean): void {
  instance.gone = true;
  for (const { cleanup } of instance.hooks) cleanup?.();
  if (instance.dom !== undefined) setRef(instance.vnode.props.ref, null);
  if (outermost && instance.dom !== undefined) instance.dom.remove();
  for (const kid of instance.kids) remove(kid, outermost && instance.dom === undefined);
}

function setRef(ref: unknown, dom: Element | Text | null): void {
  if (typeof ref === 'function') ref(dom);
  else if (ref) (ref as { current: unknown }).current = dom;
}

/** The element that an instance is drawn into. */
function hostOf({ parent }: Instance): Element {
  return parent?.dom instanceof Element ? parent.dom : hostOf(parent as Instance);
}

/** What stands behind an instance in its element. */
function nextDom(instance: Instance): Node | null {
  const { parent } = instance;
  if (parent === undefined) return null;
  const { kids } = parent;
  for (const kid of kids.slice(kids.indexOf(instance) + 1)) {
    const dom = firstDom(kid);
    if (dom !== undefined) return dom;
  }
  return parent.dom === undefined ? nextDom(parent) : null;
}

function firstDom({ dom, kids }: Instance): Node | undefined {
  if (dom !== undefined) return dom;
  for (const kid of kids) {
    const first = firstDom(kid);
    if (first !== undefined) return first;
  }
  return undefined;
}
