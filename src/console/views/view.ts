import type { Connection } from '../state/connection.ts';
import type { Route } from '../state/route.ts';

/** What each view is given. */
export interface ViewProps {
  readonly connection: Connection;
  readonly route: Route;
}
