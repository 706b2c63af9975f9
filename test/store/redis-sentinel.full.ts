// Measures, so nothing runs beside it: how fast a client follows a failover.

import { applicationClientsContract } from './application-clients.ts';
import { failoverContract } from './failover.ts';
import { underSentinel } from './under-topology.ts';

underSentinel(({ setup, clients }) => {
  applicationClientsContract('Redis under Sentinel', 'createSentinel', () => setup().options, clients);

  failoverContract(setup, clients);
});
