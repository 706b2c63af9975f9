export { type StoreContractOptions, storeContract } from './store-contract/contract.ts';
export type { StoreFixture } from './store-contract/fixture.ts';
export type { ContractCase } from './store-contract/suite.ts';
