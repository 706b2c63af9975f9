export type {
  RedisClient,
  RedisCluster,
  RedisEmitter,
  RedisListener,
  RedisNode,
  RedisSendOptions,
  RedisSentinel,
} from './store/redis/client.ts';
export { createRedisStore, type RedisStoreOptions } from './store/redis/store.ts';
