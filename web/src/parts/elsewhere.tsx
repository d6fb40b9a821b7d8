import { useEffect } from 'react'
import { Loading } from './loading.tsx'

/** One cookie serves portal and console; staff who open the portal are sent to the console. */
export function Elsewhere({ path }: { path: string }) {
  useEffect(() => location.replace(path), [path])
  return (
    <main id="content" className="page">
      <Loading />
    </main>
  )
}
