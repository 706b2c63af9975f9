/** Attributes, event handlers, `ref` and `children`. */
export type Props = Readonly<Record<string, unknown>>;
export type Component = (props: Props) => unknown;
/** An element by its name, a component, or text (`''`). */
export type Type = string | Component;

/** What JSX makes: what is to be there. */
export interface VNode {
  readonly type: Type;
  readonly props: Props;
  readonly key?: unknown;
}

/** Several nodes without an element around them. */
export const Fragment: Component = ({ children }) => children;

/** What JSX is compiled to. */
export function h(type: Type, props: Props | null, ...children: unknown[]): VNode {
  return { type, props: { ...props, children }, key: props?.key };
}
