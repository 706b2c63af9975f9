import { bodies } from './hostile-requests/bodies.ts';
import { credentials } from './hostile-requests/credentials.ts';
import { headers, media, versions } from './hostile-requests/headers.ts';
import { origins } from './hostile-requests/origins.ts';
import type { HostileRequest } from './hostile-requests/request.ts';
import { paths } from './hostile-requests/targets.ts';

export const HOSTILE: readonly HostileRequest[] = [
  ...headers,
  ...versions,
  ...media,
  ...paths,
  ...credentials,
  ...origins,
  ...bodies,
];
