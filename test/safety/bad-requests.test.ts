import { refusesBadRequests } from './bad-requests.ts';

refusesBadRequests(200);
