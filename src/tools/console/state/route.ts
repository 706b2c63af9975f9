export const VIEWS = ['categories', 'tail', 'failures', 'audit', 'fleet', 'health', 'tenants'] as const;
export type ViewName = (typeof VIEWS)[number];

/** The part of the address after `#`: `#/categories/NAME?q=text`. */
export interface Route {
  readonly view: ViewName;
  /** Such as the category of `#/categories/NAME`. */
  readonly item?: string;
  readonly query: URLSearchParams;
}

/** Anything unknown is the list of categories. */
export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [first = '', second] = path.split('/');
  const view = VIEWS.find((name) => name === first) ?? 'categories';
  const item = second === undefined || second === '' ? undefined : decoded(second);
  return { view, ...(item !== undefined && { item }), query: new URLSearchParams(search) };
}

/** The query of an address; empty values are left out. */
export type Query = Readonly<Record<string, string | undefined>>;

/** The address of a view, for links. */
export function href(view: ViewName, item?: string, query: Query = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => !!pair[1]);
  const search = new URLSearchParams(given).toString();
  return `#/${view}${item === undefined ? '' : `/${encodeURIComponent(item)}`}${search === '' ? '' : `?${search}`}`;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
