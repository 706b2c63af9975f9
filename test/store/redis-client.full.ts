import { applicationClientContract } from './redis-clients.ts';

applicationClientContract('a client of the older protocol that answers with buffers');
