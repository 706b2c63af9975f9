import { useEffect, useState } from 'preact/hooks';
import { href, parseRoute, type Query, type Route, type ViewName } from './route.ts';

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

/** Asks a view for something else, without an entry in the history. */
export function replaceQuery(view: ViewName, query: Query): void {
  history.replaceState(null, '', href(view, undefined, query));
  dispatchEvent(new HashChangeEvent('hashchange'));
}
