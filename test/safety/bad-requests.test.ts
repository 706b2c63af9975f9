import { refusesBadRequests } from './bad-requests.ts';

refusesBadRequests(1_000);
