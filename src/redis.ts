export type {
  RedisClient,
  RedisCluster,
  RedisEmitter,
  RedisListener,
  RedisNode,
  RedisPool,
  RedisSendOptions,
  RedisSentinel,
} from './store/redis/client.ts';
export { createRedisStore, type RedisStoreOptions } from './store/redis/store.ts';
