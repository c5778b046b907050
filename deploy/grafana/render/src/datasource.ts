// A data source that asks Prometheus' HTTP API through this page's own server.
import { createDataFrame, DataFrame, DataQueryRequest, DataQueryResponse, FieldType, LoadingState, MetricFindValue } from '@grafana/data';
import { RuntimeDataSource, sceneGraph } from '@grafana/scenes';
import { from, Observable } from 'rxjs';

type Labels = Record<string, string>;

async function ask(path: string, params: Labels): Promise<any> {
  const answer = await (await fetch(`/prometheus/api/v1/${path}?${new URLSearchParams(params)}`)).json();
  if (answer.status !== 'success') {
    throw new Error(answer.error);
  }
  return answer.data;
}

/** How a list of chosen values stands in a regular expression. */
function alternatives(value: any): string {
  return Array.isArray(value) ? (value.length === 1 ? value[0] : `(${value.join('|')})`) : String(value);
}

function seriesName(format: string | undefined, labels: Labels): string | undefined {
  if (format && format !== '__auto') {
    return format.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => labels[name] ?? '');
  }
  const { __name__, ...rest } = labels;
  const values = Object.values(rest);
  return values.length === 1 ? values[0] : undefined;
}

export class Prometheus extends RuntimeDataSource {
  constructor(uid: string) {
    super('prometheus', uid);
  }

  query(request: DataQueryRequest<any>): Observable<DataQueryResponse> {
    return from(this.run(request));
  }

  private async run(request: DataQueryRequest<any>): Promise<DataQueryResponse> {
    const start = request.range.from.unix();
    const end = request.range.to.unix();
    const step = Math.max(15, Math.ceil((request.intervalMs || 15_000) / 1000));
    const builtin: Labels = {
      __rate_interval: `${Math.max(step + 30, 120)}s`,
      __interval: `${step}s`,
      __range: `${end - start}s`,
      __range_s: String(end - start),
    };
    const scene = (request.scopedVars?.__sceneObject as any)?.value?.valueOf?.();
    const fill = (text: string) => {
      const known = text.replace(/\$\{?(__\w+)\}?/g, (all, name) => builtin[name] ?? all);
      return sceneGraph.interpolate(scene, known, request.scopedVars, alternatives);
    };
    const frames: DataFrame[] = [];
    const errors: any[] = [];
    for (const target of request.targets) {
      const query = fill(target.expr);
      try {
        frames.push(...(target.instant ? await instant(target, query, end) : await range(target, query, start, end, step)));
      } catch (error: any) {
        errors.push({ refId: target.refId, message: error.message });
        console.error(`${error.message}: ${query}`);
      }
    }
    const state = errors.length ? LoadingState.Error : LoadingState.Done;
    return { data: frames, state, errors: errors.length ? errors : undefined, key: request.requestId };
  }

  async metricFindQuery(query: any): Promise<MetricFindValue[]> {
    const text: string = typeof query === 'string' ? query : query.query;
    const [, selector, label] = text.match(/^label_values\((.+),\s*(\w+)\)$/s) ?? [];
    if (!label) {
      return [];
    }
    const scene = (this as any).scene;
    const matcher = scene ? sceneGraph.interpolate(scene, selector, {}, alternatives) : selector.replace(/=~"\$\w+"/g, '=~".*"');
    const values: string[] = await ask(`label/${label}/values`, { 'match[]': matcher });
    return values.map((value) => ({ text: value }));
  }

  testDatasource(): any {
    return Promise.resolve({ status: 'success', message: '' });
  }
}

async function instant(target: any, query: string, time: number): Promise<DataFrame[]> {
  const data = await ask('query', { query, time: String(time) });
  const results = data.resultType === 'scalar' ? [{ metric: {}, value: data.result }] : data.result;
  if (target.format === 'table') {
    const names = [...new Set<string>(results.flatMap((one: any) => Object.keys(one.metric)))].sort();
    return [
      createDataFrame({
        refId: target.refId,
        fields: [
          { name: 'Time', type: FieldType.time, values: results.map((one: any) => one.value[0] * 1000) },
          ...names.map((name) => ({ name, type: FieldType.string, values: results.map((one: any) => one.metric[name] ?? '') })),
          { name: target.lone ? 'Value' : `Value #${target.refId}`, type: FieldType.number, values: results.map((one: any) => Number(one.value[1])) },
        ],
      }),
    ];
  }
  return results.map((one: any) => frame(target, one.metric, [one.value]));
}

async function range(target: any, query: string, start: number, end: number, step: number): Promise<DataFrame[]> {
  const first = Math.floor(start / step) * step;
  const data = await ask('query_range', { query, start: String(first), end: String(end), step: String(step) });
  return data.result.map((one: any) => {
    const known = new Map<number, string>(one.values);
    const values: any[] = [];
    for (let time = first; time <= end; time += step) {
      values.push([time, known.get(time) ?? null]);
    }
    return frame(target, one.metric, values, step);
  });
}

function frame(target: any, labels: Labels, values: any[], step?: number): DataFrame {
  return createDataFrame({
    refId: target.refId,
    fields: [
      { name: 'Time', type: FieldType.time, values: values.map(([time]) => time * 1000), config: step ? { interval: step * 1000 } : {} },
      {
        name: 'Value',
        type: FieldType.number,
        labels,
        config: { displayNameFromDS: seriesName(target.legendFormat, labels) },
        values: values.map(([, value]) => (value === null ? null : Number(value))),
      },
    ],
  });
}
