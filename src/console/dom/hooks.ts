import { calling, effects, type Hook, type Instance, redraw } from './render.ts';

type Inputs = readonly unknown[] | undefined;

/** The hook of this call, and its component. */
function next(): [Hook, Instance] {
  const instance = calling.instance as Instance;
  const hook = instance.hooks[calling.hook] ?? {};
  instance.hooks[calling.hook] = hook;
  calling.hook += 1;
  return [hook, instance];
}

function changed({ inputs }: Hook, now: Inputs): boolean {
  return inputs === undefined || now === undefined || now.some((input, at) => !Object.is(input, inputs[at]));
}

export function useReducer<S, A>(reduce: (state: S, action: A) => S, initial: S): [S, (action: A) => void] {
  const [hook, instance] = next();
  if (!('value' in hook)) {
    const dispatch = (action: A) => {
      const [state] = hook.value as [S];
      const now = reduce(state, action);
      if (Object.is(state, now)) return;
      hook.value = [now, dispatch];
      redraw(instance);
    };
    hook.value = [initial, dispatch];
  }
  return hook.value as [S, (action: A) => void];
}

export function useState<S>(initial: S | (() => S)): [S, (action: S | ((state: S) => S)) => void] {
  const first = useMemo(() => (typeof initial === 'function' ? (initial as () => S)() : initial), []);
  return useReducer<S, S | ((state: S) => S)>(
    (state, action) => (typeof action === 'function' ? (action as (state: S) => S)(state) : action),
    first,
  );
}

export function useMemo<T>(make: () => T, inputs: Inputs): T {
  const [hook] = next();
  if (changed(hook, inputs)) Object.assign(hook, { value: make(), inputs });
  return hook.value as T;
}

export function useRef<T>(initial: T): { current: T } {
  return useMemo(() => ({ current: initial }), []);
}

export function useCallback<T>(callback: T, inputs: Inputs): T {
  return useMemo(() => callback, inputs);
}

let ids = 0;

export function useId(): string {
  return useMemo(() => `id-${++ids}`, []);
}

type Effect = () => (() => void) | undefined;

function useEffectOf(queue: 0 | 1, effect: Effect, inputs: Inputs): void {
  const [hook, instance] = next();
  if (!changed(hook, inputs)) return;
  hook.inputs = inputs;
  effects[queue].push(() => {
    hook.cleanup?.();
    hook.cleanup = instance.gone ? undefined : effect();
  });
}

export function useLayoutEffect(effect: Effect, inputs?: Inputs): void {
  useEffectOf(0, effect, inputs);
}

export function useEffect(effect: Effect, inputs?: Inputs): void {
  useEffectOf(1, effect, inputs);
}
