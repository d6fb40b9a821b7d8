import { useEffect } from 'react'
import { Loading } from './loading.tsx'

/** One cookie serves portal and console; whoever opened the wrong one is sent to the other. */
export function Elsewhere({ path }: { path: string }) {
  useEffect(() => location.replace(path), [path])
  return (
    <main id="content" className="page">
      <Loading />
    </main>
  )
}
