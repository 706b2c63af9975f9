import { useLayoutEffect, useRef } from 'preact/hooks';

/** A reference to an element that gets the focus when it is first drawn: `autofocus` is for what the browser has loaded. */
export function useFocus<T extends HTMLElement>() {
  const element = useRef<T>(null);
  useLayoutEffect(() => element.current?.focus(), []);
  return element;
}
