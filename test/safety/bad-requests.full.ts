// Every night: 10,000 requests, of which each change makes a share (bad-requests.test.ts).

import { refusesBadRequests } from './bad-requests.ts';

refusesBadRequests(10_000);
