import { useEffect, useState } from 'preact/hooks';
import { parseRoute, type Route } from './route.ts';

/** The route in the address. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener('hashchange', follow);
    follow();
    return () => removeEventListener('hashchange', follow);
  }, []);
  return parseRoute(hash);
}

/** Goes to an address of `href()`. @param replace without an entry in the history, for filters */
export function navigate(hash: string, { replace = false } = {}): void {
  if (!replace) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, '', hash);
  dispatchEvent(new HashChangeEvent('hashchange'));
}
