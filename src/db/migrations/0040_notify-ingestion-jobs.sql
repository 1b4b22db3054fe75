CREATE FUNCTION notify_ingestion_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('quire_ingestion_jobs', coalesce(NEW.knowledge_base_id, OLD.knowledge_base_id));
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER notify_ingestion_jobs AFTER INSERT OR UPDATE OR DELETE ON "ingestion_jobs" FOR EACH ROW EXECUTE FUNCTION notify_ingestion_jobs();
