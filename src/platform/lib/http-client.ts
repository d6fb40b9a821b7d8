/** Node's HTTP client for this URL. Loaded on demand: it takes long, and most commands send nothing. */
export const httpClientFor = (url: URL) =>
  url.protocol === 'https:' ? import('node:https') : import('node:http')
