import { describe } from 'node:test';
import { failoverContract } from './failover.ts';
import { underCluster, underSentinel } from './under-topology.ts';

describe('processes that share a store', { concurrency: 2 }, () => {
  underSentinel(({ setup, clients }) => failoverContract(setup, clients, 'killed'));
  underCluster(({ setup, clients }) => failoverContract(setup, clients, 'killed'));
});
