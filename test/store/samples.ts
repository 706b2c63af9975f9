export * from '../../src/store-contract/samples.ts';
