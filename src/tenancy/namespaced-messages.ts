import type { MessageStore } from '../store/message-store.ts';

/** The messages between the processes of one namespace. Those of other namespaces are not for them. */
export function createNamespacedMessages(messages: MessageStore, prefix: string): MessageStore {
  return {
    address: messages.address,
    send: (message, to) => messages.send(prefix + message, to),
    onMessage: (listener) =>
      messages.onMessage((message, from) => {
        if (message.startsWith(prefix)) listener(message.slice(prefix.length), from);
      }),
  };
}
