import { refusesBadRequests } from './bad-requests.ts';

refusesBadRequests(10_000);
