// The registries that Grafana's server bundle fills before anything is drawn. Without them units, thresholds and
// transformations of a dashboard are ignored without a word.
import {
  displayNameOverrideProcessor,
  FieldColorModeId,
  identityOverrideProcessor,
  numberOverrideProcessor,
  dataLinksOverrideProcessor,
  standardEditorsRegistry,
  standardFieldConfigEditorRegistry,
  standardTransformers,
  standardTransformersRegistry,
  stringOverrideProcessor,
  ThresholdsMode,
  thresholdsOverrideProcessor,
  unitOverrideProcessor,
  valueMappingsOverrideProcessor,
} from '@grafana/data';

const nothing = () => null;

function property(id: string, process: any, defaultValue?: any): any {
  return {
    id,
    path: id,
    name: id,
    process,
    defaultValue,
    editor: nothing,
    override: nothing,
    settings: {},
    shouldApply: () => true,
    getItemsCount: (value: any) => value?.length ?? 0,
  };
}

export function fillRegistries() {
  standardEditorsRegistry.setInit(() => []);
  standardFieldConfigEditorRegistry.setInit(() => [
    property('unit', unitOverrideProcessor),
    property('decimals', numberOverrideProcessor),
    property('min', numberOverrideProcessor),
    property('max', numberOverrideProcessor),
    property('fieldMinMax', identityOverrideProcessor),
    property('displayName', displayNameOverrideProcessor),
    property('noValue', stringOverrideProcessor),
    property('links', dataLinksOverrideProcessor),
    property('actions', identityOverrideProcessor),
    property('filterable', identityOverrideProcessor),
    property('mappings', valueMappingsOverrideProcessor, []),
    property('color', identityOverrideProcessor, { mode: FieldColorModeId.Thresholds }),
    property('thresholds', thresholdsOverrideProcessor, {
      mode: ThresholdsMode.Absolute,
      steps: [{ value: -Infinity, color: 'green' }],
    }),
  ]);
  const transformers = new Map(Object.values(standardTransformers).map((one: any) => [one.id, one]));
  standardTransformersRegistry.setInit(() =>
    [...transformers.values()].map(
      (one: any) =>
        ({
          id: one.id,
          name: one.name,
          transformation: () => Promise.resolve(one),
          editor: nothing,
          categories: new Set(),
        }) as any
    )
  );
}
