/** Host names and addresses that no other machine can claim. */
const NAME = /^(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/i;

/** Whether a host name or address, without a port, is of this machine only. */
export const isLoopbackHost = (host: string): boolean => NAME.test(host);
