import { PATHS } from '../src/session.ts';
import { pathOf, type ServerRequest } from './handler.ts';
import { KEYS } from './reference-credentials.ts';

export const withKey =
  (key: string) =>
  ({ headers }: ServerRequest) => ({ headers: { ...headers, 'x-rdcp-api-key': key } });
export const asMain = withKey(KEYS.main);
export const always = () => true;
export const isControl = (request: ServerRequest) => pathOf(request) === PATHS.control;
export const lacksKey = ({ headers }: ServerRequest) => headers['x-rdcp-api-key'] === undefined;
export const to = (path: string) => (request: ServerRequest) => pathOf(request) === path;
